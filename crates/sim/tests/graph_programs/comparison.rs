//! The comparison of graphs, bytes and user objects with the model.

use std::ptr::null_mut;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use warploom_testkit::{TestResult, call};

use crate::program::{CELLS, Program};

impl Program<'_> {
    /// Compares the machine with the model.
    pub(crate) fn check(&self) -> TestResult {
        let driver = self.driver;
        for graph in &self.graphs {
            let mut len = 0;
            call!(driver.cuGraphGetNodes(graph.raw, null_mut(), &mut len))?;
            assert_eq!(len, graph.nodes.len());
            call!(driver.cuGraphGetEdges_v2(graph.raw, null_mut(), null_mut(), null_mut(), &mut len))?;
            let (mut from, mut to) = (vec![null_mut(); len.max(1)], vec![null_mut(); len.max(1)]);
            if len > 0 {
                call!(driver.cuGraphGetEdges_v2(graph.raw, from.as_mut_ptr(), to.as_mut_ptr(), null_mut(), &mut len))?;
            }
            let mut there: Vec<(usize, usize)> =
                from.iter().zip(&to).take(len).map(|(from, to)| (from.addr(), to.addr())).collect();
            let mut expected: Vec<(usize, usize)> =
                graph.nodes.iter().flat_map(|node| node.before.iter().map(|before| (*before, node.raw))).collect();
            there.sort_unstable();
            expected.sort_unstable();
            assert_eq!(there, expected);
        }
        Ok(())
    }

    pub(crate) fn check_bytes(&self) -> TestResult {
        let (driver, mut bytes) = (self.driver, vec![0_u32; CELLS]);
        call!(driver.cuMemcpyDtoHAsync_v2(bytes.as_mut_ptr().cast(), self.memory, CELLS * 4, self.stream))?;
        call!(driver.cuStreamSynchronize(self.stream))?;
        assert_eq!(bytes, self.cells);
        assert_eq!(self.counter.load(Ordering::SeqCst), self.counted);
        Ok(())
    }

    /// Owners that a graph or an executable refers to are alive; the others end, on a machine with threads
    /// some time later.
    pub(crate) fn check_owners(&self) {
        let deadline = Instant::now() + Duration::from_secs(5);
        for (index, owner) in self.owners.iter().enumerate() {
            let is_held = self.graphs.iter().map(|graph| &graph.owners).any(|owners| owners.contains_key(&index))
                || self.execs.iter().any(|exec| exec.owners.contains_key(&index));
            while !is_held && owner.ended.load(Ordering::SeqCst) == 0 && Instant::now() < deadline {
                std::thread::sleep(Duration::from_micros(200));
            }
            assert_eq!(owner.ended.load(Ordering::SeqCst), u32::from(!is_held), "owner {index}");
        }
    }
}
