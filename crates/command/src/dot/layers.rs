//! Layers of a graph: each node lies below all nodes that it waits for.

/// The layer of each of `count` nodes, which is the length of the longest path to it. If there is a cycle,
/// the error is the index of one of its edges.
pub(super) fn layers(count: usize, edges: &[(usize, usize)]) -> Result<Vec<usize>, usize> {
    let (mut waits, mut leaving) = (vec![0_usize; count], vec![Vec::new(); count]);
    for (from, to) in edges {
        waits[*to] += 1;
        leaving[*from].push(*to);
    }
    let mut layers = vec![0; count];
    let mut ready: Vec<usize> = (0..count).filter(|node| waits[*node] == 0).collect();
    let mut done = 0;
    while let Some(node) = ready.pop() {
        done += 1;
        for next in &leaving[node] {
            layers[*next] = layers[*next].max(layers[node] + 1);
            waits[*next] -= 1;
            if waits[*next] == 0 {
                ready.push(*next);
            }
        }
    }
    if done == count { Ok(layers) } else { Err(on_cycle(&waits, edges)) }
}

/// An edge of a cycle. Each node that still waits does so for another one, so a walk against the edges ends
/// in a cycle.
fn on_cycle(waits: &[usize], edges: &[(usize, usize)]) -> usize {
    let mut waits_by = vec![None; waits.len()];
    for (edge, (from, to)) in edges.iter().enumerate() {
        if waits[*from] > 0 && waits[*to] > 0 {
            waits_by[*to] = Some(edge);
        }
    }
    let mut is_seen = vec![false; waits.len()];
    let mut node = waits.iter().position(|waits| *waits > 0).unwrap_or(0);
    let mut last = 0;
    while let (false, Some(edge)) = (is_seen[node], waits_by[node]) {
        is_seen[node] = true;
        last = edge;
        node = edges[edge].0;
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layer_is_the_longest_path() {
        let edges = [(0, 1), (1, 2), (0, 2), (4, 3), (2, 3), (0, 1)];
        assert_eq!(layers(5, &edges), Ok(vec![0, 1, 2, 3, 0]));
        assert_eq!(layers(0, &[]), Ok(Vec::new()));
    }

    #[test]
    fn a_cycle_is_named_by_one_of_its_own_edges() {
        let edges = [(0, 1), (1, 2), (2, 1), (2, 3), (3, 4)];
        assert!(matches!(layers(5, &edges), Err(1 | 2)));
        assert_eq!(layers(1, &[(0, 0)]), Err(0));
    }
}
