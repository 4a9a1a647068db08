//! The functions that the library is to be built from are all in the list.

use warploom_sys::Function;

/// The functions that NVIDIA's own object layer for Python calls and that a library without the CUDA runtime
/// needs beside them: 194, and 7 more that are worth having.
const INVENTORY: &str = include_str!("inventory.txt");

#[test]
fn the_list_holds_every_function_of_the_inventory() {
    let wanted: Vec<&str> = INVENTORY.lines().collect();
    assert_eq!(wanted.len(), 201);
    let missing: Vec<_> =
        wanted.into_iter().filter(|name| !Function::ALL.iter().any(|known| known.base_name() == *name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn functions_with_two_living_abis_have_a_slot_for_each() {
    for (older, newer) in [
        ("cuMemAdvise", "cuMemAdvise_v2"),
        ("cuMemPrefetchAsync", "cuMemPrefetchAsync_v2"),
        ("cuMemcpyBatchAsync", "cuMemcpyBatchAsync_v2"),
        ("cuGraphAddNode", "cuGraphAddNode_v2"),
        ("cuGraphGetEdges", "cuGraphGetEdges_v2"),
        ("cuGraphNodeGetDependencies", "cuGraphNodeGetDependencies_v2"),
        ("cuGraphNodeGetDependentNodes", "cuGraphNodeGetDependentNodes_v2"),
        ("cuGraphAddDependencies", "cuGraphAddDependencies_v2"),
        ("cuGraphRemoveDependencies", "cuGraphRemoveDependencies_v2"),
        ("cuStreamGetCaptureInfo_v2", "cuStreamGetCaptureInfo_v3"),
        ("cuStreamUpdateCaptureDependencies", "cuStreamUpdateCaptureDependencies_v2"),
        ("cuEventElapsedTime", "cuEventElapsedTime_v2"),
    ] {
        let version = |name: &str| {
            let found = Function::ALL.iter().find(|known| known.name() == name);
            found.unwrap_or_else(|| panic!("{name} is not in the list")).version()
        };
        assert!(version(older) < version(newer), "{older}, {newer}");
    }
}
