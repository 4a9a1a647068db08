//! A topology as text, as a graph and as a picture.

use warploom_sim::topology::Topology as Wiring;
use warploom_testkit::TestResult;

use super::{links, probe};

#[test]
fn a_table_has_accessors_down_and_owners_across() -> TestResult {
    let (_machine, _driver, topology) = probe(links(3, &[(0, 1), (1, 0), (2, 0)])?)?;
    let access = "can access (down: who, across: whose memory)
       0    1    2
  0    -  yes   no
  1  yes    -   no
  2  yes   no    -";
    assert_eq!(topology.to_string(), access);
    topology.probe_links()?;
    let links = "links (number: performance rank, 0 is best; a: all atomics, p: some)
     0   1   2
 0   -  0a  no
 1  0a   -  no
 2  0a  no   -";
    assert_eq!(topology.to_string(), format!("{access}\n\n{links}"));
    assert_eq!(warploom::Topology::probe(&[])?.to_string(), "no devices");
    Ok(())
}

#[test]
fn a_graph_has_one_edge_for_both_directions() -> TestResult {
    let (_machine, _driver, topology) = probe(links(3, &[(0, 1), (1, 0), (2, 0)])?)?;
    topology.link(2, 0)?;
    let edges: Vec<_> = topology.to_dot().lines().filter(|line| line.contains("->")).map(str::to_owned).collect();
    assert_eq!(edges, ["  0 -> 1 [dir=both];", "  2 -> 0 [dir=forward, label=\"0\"];"]);
    assert_eq!(topology.to_dot().matches("label=\"device ").count(), 3);
    Ok(())
}

#[test]
fn a_picture_has_every_device_and_every_connection_once() -> TestResult {
    for (preset, devices, lines, arrows) in [("h200", 1, 0, 0), ("dgx-h100", 8, 28, 0), ("asymmetric", 3, 2, 1)] {
        let (_machine, _driver, topology) = probe(Wiring::preset(preset)?)?;
        let picture = topology.to_svg();
        assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"), "{preset}");
        assert_eq!(picture.matches("<circle ").count(), devices, "{preset}");
        assert_eq!(picture.matches("<line ").count(), lines, "{preset}: {topology}");
        assert_eq!(picture.matches("marker-end").count(), arrows, "{preset}: {topology}");
        assert!(!picture.contains("NaN") && !picture.contains("href"), "{preset}");
    }
    Ok(())
}
