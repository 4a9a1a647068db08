//! Graphs as DOT files.
#![expect(unsafe_code, reason = "host functions have C's type")]

use std::ffi::{CString, c_void};
use std::ptr::null_mut;

use warploom_testkit::sys::types::CUDA_HOST_NODE_PARAMS;
use warploom_testkit::{answers, call, driver_tests};

use crate::support::Stage;

unsafe extern "C" fn nothing(_: *mut c_void) {}

/// The text is well-formed: every quote and bracket outside of quotes has its partner.
fn assert_well_formed(text: &str) {
    let (mut depth, mut is_quoted, mut is_escaped) = (0_i32, false, false);
    for character in text.chars() {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            '{' | '[' if !is_quoted => depth += 1,
            '}' | ']' if !is_quoted => depth -= 1,
            _ => {}
        }
        assert!(depth >= 0, "{text}");
    }
    assert!(depth == 0 && !is_quoted, "{text}");
}

driver_tests! {
    /// The file names the nodes, their kinds and their edges; flags add more about each node.
    fn a_file_shows_nodes_and_edges(driver) {
        let stage = Stage::new(driver)?;
        let (graph, inner, mut host) = (stage.graph()?, stage.graph()?, null_mut());
        inner.fill(&stage.fill(64, 1, 4), stage.context(), &[])?;
        let kernel = graph.kernel(&stage.launch(c"nothing", &mut [])?, &[])?;
        let fill = graph.fill(&stage.fill(0, 77, 4), stage.context(), &[kernel])?;
        let copy = graph.copy(&stage.copy(0, 4096, 64), stage.context(), &[kernel])?;
        graph.child(inner.raw, &[fill, copy])?;
        let function = CUDA_HOST_NODE_PARAMS { fn_: Some(nothing), userData: null_mut() };
        call!(driver.cuGraphAddHostNode(&mut host, graph.raw, [kernel].as_ptr(), 1, &function))?;
        let path = std::env::temp_dir().join(format!("warploom-{}-{:p}.dot", std::process::id(), graph.raw));
        let name = CString::new(path.display().to_string())?;
        let mut lengths = Vec::new();
        for flags in [0, 1 << 20, 1] {
            call!(driver.cuGraphDebugDotPrint(graph.raw, name.as_ptr(), flags))?;
            let text = std::fs::read_to_string(&path)?;
            assert!(text.starts_with("digraph"), "{text}");
            for word in ["nothing", "MEMCPY", "MEMSET", "HOST"] {
                assert!(text.contains(word), "{word} in {text}");
            }
            // The details of a copy name its kinds of memory instead.
            assert!(flags == 1 || text.contains("DtoD"), "{text}");
            assert_eq!(text.matches("->").count(), 5, "{text}");
            assert_eq!(text.matches("subgraph cluster_").count(), 2, "{text}");
            lengths.push(text.len());
        }
        assert!(lengths[0] == lengths[1] && lengths[0] < lengths[2]);
        std::fs::remove_file(path)?;
        answers!(driver.cuGraphDebugDotPrint(graph.raw, c"/nowhere/at/all.dot".as_ptr(), 0), CUDA_ERROR_OPERATING_SYSTEM);
        answers!(driver.cuGraphDebugDotPrint(graph.raw, std::ptr::null(), 0), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuGraphDebugDotPrint(null_mut(), name.as_ptr(), 0), CUDA_ERROR_INVALID_VALUE);
    }

    sim fn a_file_is_well_formed_with_any_flags(driver) {
        let stage = Stage::new(driver)?;
        let (graph, event, mut handle, mut node) = (stage.graph()?, stage.event()?, 0, null_mut());
        let (first, mut params) = (graph.kernel(&stage.launch(c"nothing", &mut [])?, &[])?, crate::memory::allocation(64));
        call!(driver.cuGraphAddEventRecordNode(&mut node, graph.raw, [first].as_ptr(), 1, event))?;
        call!(driver.cuGraphAddEventWaitNode(&mut node, graph.raw, [node].as_ptr(), 1, event))?;
        call!(driver.cuGraphAddMemAllocNode(&mut node, graph.raw, [node].as_ptr(), 1, &mut params))?;
        call!(driver.cuGraphAddMemFreeNode(&mut node, graph.raw, [node].as_ptr(), 1, params.dptr))?;
        call!(driver.cuGraphConditionalHandleCreate(&mut handle, graph.raw, stage.context(), 0, 0))?;
        let kind = warploom_testkit::sys::types::CUgraphConditionalNodeType::CU_GRAPH_COND_TYPE_SWITCH;
        let mut condition = crate::conditions::conditional(handle, kind, 3, stage.context());
        call!(driver.cuGraphAddNode(&mut node, graph.raw, [node].as_ptr(), 1, &mut condition))?;
        let path = std::env::temp_dir().join(format!("warploom-{}-{:p}.dot", std::process::id(), graph.raw));
        let name = CString::new(path.display().to_string())?;
        for flag in 0..16 {
            call!(driver.cuGraphDebugDotPrint(graph.raw, name.as_ptr(), 1 << flag))?;
            let text = std::fs::read_to_string(&path)?;
            assert_well_formed(&text);
            assert_eq!(text.matches("subgraph cluster_").count(), 4, "{text}");
            // Bodies are named whatever the flags are, as the system's driver does.
            assert!(text.contains("EVENT_WAIT") && text.contains("{bodies|graph_"), "{text}");
            let address = format!("{:#x}", params.dptr);
            assert_eq!(text.contains(&address), [0, 11, 12].contains(&flag), "{flag}: {text}");
        }
        std::fs::remove_file(path)?;
        drop(graph);
        call!(driver.cuEventDestroy_v2(event))?;
    }
}
