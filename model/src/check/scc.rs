//! Strongly connected components, by Tarjan's algorithm (SIAM J. Comput. 1(2), 1972) with the
//! recursion unrolled: state graphs are deeper than any stack.

use super::graph::OUTSIDE;

/// The maximal strongly connected components of a graph.
pub(super) struct Components {
    component: Vec<u32>,
    /// All nodes, those of one component next to each other, ascending.
    nodes: Vec<u32>,
    /// Where each component begins in `nodes`.
    begins: Vec<usize>,
}

impl Components {
    /// The component of a node.
    pub(super) fn of(&self, node: u32) -> u32 {
        self.component[node as usize]
    }

    /// The nodes of a component, ascending.
    pub(super) fn members(&self, component: u32) -> &[u32] {
        let at = component as usize;
        &self.nodes[self.begins[at]..self.begins[at + 1]]
    }
}

/// The components of the graph with nodes `0..count`.
pub(super) fn components<'g>(count: u32, successors: impl Fn(u32) -> &'g [u32]) -> Components {
    const NEW: u32 = u32::MAX;
    let size = count as usize;
    let mut visited = vec![NEW; size];
    let mut lowest = vec![0_u32; size];
    let mut component = vec![NEW; size];
    let mut nodes = Vec::with_capacity(size);
    let mut begins = vec![0];
    let mut open: Vec<u32> = Vec::new();
    let mut path: Vec<(u32, usize)> = Vec::new();
    let mut clock = 0;
    for root in 0..count {
        if visited[root as usize] != NEW {
            continue;
        }
        path.push((root, 0));
        while let Some((node, next)) = path.pop() {
            let at = node as usize;
            if next == 0 {
                visited[at] = clock;
                lowest[at] = clock;
                clock += 1;
                open.push(node);
            }
            match successors(node).get(next) {
                Some(&to) => {
                    path.push((node, next + 1));
                    if to == OUTSIDE {
                    } else if visited[to as usize] == NEW {
                        path.push((to, 0));
                    } else if component[to as usize] == NEW {
                        lowest[at] = lowest[at].min(visited[to as usize]);
                    }
                }
                None => {
                    if let Some(&(parent, _)) = path.last() {
                        let above = parent as usize;
                        lowest[above] = lowest[above].min(lowest[at]);
                    }
                    if lowest[at] == visited[at] {
                        let number = u32::try_from(begins.len() - 1).unwrap_or(NEW);
                        let begin = open.iter().rposition(|&n| n == node).unwrap_or(0);
                        open[begin..].sort_unstable();
                        for &member in &open[begin..] {
                            component[member as usize] = number;
                        }
                        nodes.extend(open.drain(begin..));
                        begins.push(nodes.len());
                    }
                }
            }
        }
    }
    Components { component, nodes, begins }
}
