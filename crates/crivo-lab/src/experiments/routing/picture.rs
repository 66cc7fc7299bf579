//! The path of one packet.

use crivo_route::geographic::Square;
use serde::{Deserialize, Serialize};

use crate::StudyError;
use crate::context::Context;
use crate::data::Dataset;
use crate::plot::{Axis, Chart, Hue, Look, Map, Panel, Point, Series, percent};
use crate::section::{Figure, Finding, Verdict};
use crate::sim::routing::area::{AreaPlan, picture};

/// A square on the path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Stop {
    hop: u64,
    level: u8,
    column: u32,
    row: u32,
}

pub(super) fn run(context: &Context<'_>, data: &mut Dataset) -> Result<(), StudyError> {
    // Few levels, so that the smallest squares are visible, and many false positives.
    let plan = AreaPlan {
        depth: 5,
        devices: 500,
        fpr: 0.1,
        seed: context.random("routing picture").number(),
        ..AreaPlan::default()
    };
    let route = picture(&plan)?;
    if !route.delivered {
        return Err(StudyError::wrong("a packet to a device at rest was lost"));
    }
    let stops: Vec<Stop> = (0..)
        .zip(&route.squares)
        .map(|(hop, square)| Stop {
            hop,
            level: square.level(),
            column: square.column(),
            row: square.row(),
        })
        .collect();
    data.set_parameter("picture_fpr", plan.fpr);
    data.set_parameter("picture_devices", plan.devices);
    data.add("picture", &stops)
}

/// A part of the path: the numbers of its hops, beginning with its start.
#[derive(Debug, PartialEq)]
struct PathPart {
    hops: Vec<usize>,
    is_detour: bool,
}

/// Divides a path into the parts that lead to its end, and detours.
fn parts<T: PartialEq>(way: &[T]) -> Vec<PathPart> {
    // A return to a square makes everything since the last visit a detour, including the return.
    let mut kept: Vec<usize> = Vec::new();
    let mut taken_back = vec![false; way.len()];
    for (hop, place) in way.iter().enumerate() {
        match kept.iter().position(|&before| way[before] == *place) {
            Some(again) => {
                taken_back[hop] = true;
                for erased in kept.drain(again + 1..) {
                    taken_back[erased] = true;
                }
            }
            None => kept.push(hop),
        }
    }
    let mut parts: Vec<PathPart> = Vec::new();
    for (hop, &is_detour) in taken_back.iter().enumerate().skip(1) {
        match parts.last_mut() {
            Some(part) if part.is_detour == is_detour => part.hops.push(hop),
            _ => parts.push(PathPart { hops: vec![hop - 1, hop], is_detour }),
        }
    }
    parts
}

pub(super) fn figure(data: &Dataset, stops: &[Stop]) -> Result<Figure, StudyError> {
    let squares = stops
        .iter()
        .map(|stop| Square::new(stop.level, stop.column, stop.row))
        .collect::<Result<Vec<_>, _>>()?;
    // The squares whose filters were queried on the way, each once.
    let mut outlined: Vec<Square> = vec![Square::WHOLE];
    for square in squares.iter().filter_map(|square| square.parent()).flat_map(Square::children) {
        if !outlined.contains(&square) {
            outlined.push(square);
        }
    }
    let outlines = outlined.iter().map(|square| {
        let place = square.rectangle();
        ((place.x, place.y), place.side)
    });
    let depth = squares.iter().map(|square| square.level()).max().unwrap_or(0);
    let (mut on_map, mut on_levels) = (Vec::new(), Vec::new());
    let parts = parts(&squares);
    // Detours are drawn below.
    for is_detour in [true, false] {
        for part in parts.iter().filter(|part| part.is_detour == is_detour) {
            let (label, hue, look) = if is_detour {
                ("detour", Hue::Bad, Look::Dashed)
            } else {
                ("path", Hue::Bloom, Look::Line)
            };
            let series = |place: &dyn Fn(usize) -> (f64, f64)| {
                let point = |&hop: &usize| {
                    let (x, y) = place(hop);
                    Point { x, y, interval: None }
                };
                Series::new(label, hue, look, part.hops.iter().map(point).collect())
            };
            on_map.push(series(&|hop| squares[hop].rectangle().centre()));
            on_levels.push(series(&|hop| {
                (hop as f64, f64::from(depth) - f64::from(squares[hop].level()))
            }));
        }
    }
    for (label, hue, hop) in
        [("sender", Hue::Cuckoo, 0), ("receiver", Hue::Linear, squares.len().saturating_sub(1))]
    {
        let Some(square) = squares.get(hop) else { continue };
        let (x, y) = square.rectangle().centre();
        on_map.push(Series::new(label, hue, Look::Dots, vec![Point { x, y, interval: None }]));
        let y = f64::from(depth) - f64::from(square.level());
        let point = Point { x: hop as f64, y, interval: None };
        on_levels.push(Series::new(label, hue, Look::Dots, vec![point]));
    }
    let hops = squares.len().saturating_sub(1);
    let shortest = match (squares.first(), squares.last()) {
        (Some(&first), Some(&last)) => first.distance(last),
        _ => 0,
    };
    let turns = parts.iter().filter(|part| part.is_detour).count();
    let fpr: f64 = data.parameter("picture_fpr")?;
    let devices: u64 = data.parameter("picture_devices")?;
    Ok(Figure {
        id: "routing-picture",
        title: "Path of a packet".to_string(),
        question: "How does a packet find a device, and what does a false positive do?".to_string(),
        method: format!(
            "{devices} devices at rest in an area that is recursively divided in four {depth} times, with \
             filters of {}, high enough for false positives. Of a thousand packets, the one with the most \
             detours is drawn, from the centre of each square on its path to the centre of the next, with \
             the squares whose filters were queried. It goes up until a sibling accepts, crosses over, and \
             goes down where a child accepts; without false positives there is only the blue line.",
            percent(fpr, 2),
        ),
        panels: vec![
            Panel::Map(Map {
                title: "across the area".to_string(),
                outlines: outlines.collect(),
                series: on_map,
            }),
            Panel::Chart(Chart {
                title: "up, over, and down".to_string(),
                x: Axis::linear("hop"),
                y: Axis::from_zero("levels above the smallest squares"),
                series: on_levels,
            }),
        ],
        table: None,
        verdict: Verdict {
            finding: Finding::Measured,
            sentence: format!(
                "The packet took {hops} hops, where {shortest} is the minimum, because of {turns} \
                 {}, and arrived.",
                if turns == 1 { "detour" } else { "detours" },
            ),
            test: String::new(),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_divided_into_parts_and_detours() {
        let stretch = |hops: &[usize], is_detour| PathPart { hops: hops.to_vec(), is_detour };
        assert_eq!(parts(&['a', 'b', 'c']), [stretch(&[0, 1, 2], false)]);
        assert_eq!(
            parts(&['a', 'b', 'x', 'y', 'x', 'b', 'c']),
            [stretch(&[0, 1], false), stretch(&[1, 2, 3, 4, 5], true), stretch(&[5, 6], false),]
        );
        assert!(parts(&['a']).is_empty());
    }
}
