//! Every filter of ours beside every rival of its group, and how fast it is meant to be.

use crate::median;
use crate::processes::parse;

/// The rival's time over ours that a pair is to reach: insertions, present keys, absent keys. 0 is no
/// goal.
struct Goal {
    n: &'static str,
    ours: &'static str,
    rival: &'static str,
    ratios: [f64; 3],
}

const MILLION: &str = "1000000";
const TEN_MILLION: &str = "10000000";

/// For `u64` keys, at 1%.
const GOALS: [Goal; 14] = [
    Goal { n: MILLION, ours: "crivo Bloom", rival: "fastbloom", ratios: [0.9, 1.1, 1.6] },
    Goal {
        n: MILLION,
        ours: "crivo Blocked",
        rival: "sbbf-rs-safe, 11 bits",
        ratios: [0.65, 0.85, 0.85],
    },
    Goal {
        n: MILLION,
        ours: "crivo Blocked, batches",
        rival: "sbbf-rs-safe, 11 bits",
        ratios: [0.0, 1.1, 1.1],
    },
    Goal {
        n: "100000000",
        ours: "crivo Blocked, batches",
        rival: "sbbf-rs-safe, 11 bits",
        ratios: [0.0, 2.0, 2.0],
    },
    Goal {
        n: MILLION,
        ours: "crivo SplitBlock, 11 bits",
        rival: "sbbf-rs-safe, 11 bits, fold64",
        ratios: [0.95; 3],
    },
    Goal {
        n: TEN_MILLION,
        ours: "crivo SplitBlock, 11 bits",
        rival: "sbbf-rs-safe, 11 bits, fold64",
        ratios: [0.95; 3],
    },
    Goal {
        n: MILLION,
        ours: "crivo Fuse, 8 bits",
        rival: "xorf BinaryFuse8",
        ratios: [1.3, 1.0, 1.0],
    },
    Goal {
        n: MILLION,
        ours: "crivo BlockedCounting, 4 bits",
        rival: "fastbloom-rs counting",
        ratios: [2.0, 2.5, 3.0],
    },
    Goal {
        n: MILLION,
        ours: "crivo Quotient, qfilter's load",
        rival: "qfilter",
        ratios: [1.0, 1.1, 1.0],
    },
    Goal { n: MILLION, ours: "crivo Fuse, 8 bits", rival: "jdb_xorf Bf8", ratios: [1.3, 0.9, 0.9] },
    Goal {
        n: TEN_MILLION,
        ours: "crivo ShardedFuse, 7 bits",
        rival: "Fuse, 7 bits",
        ratios: [0.0, 0.91, 0.91],
    },
    Goal {
        n: TEN_MILLION,
        ours: "crivo ShardedFuse, 7 bits, batches",
        rival: "Fuse, 7 bits, batches",
        ratios: [0.0, 0.91, 0.91],
    },
    Goal {
        n: TEN_MILLION,
        ours: "crivo ShardedFuse, 8 bits",
        rival: "Fuse, 8 bits",
        ratios: [0.0, 0.91, 0.91],
    },
    Goal {
        n: TEN_MILLION,
        ours: "crivo ShardedFuse, 8 bits, batches",
        rival: "Fuse, 8 bits, batches",
        ratios: [0.0, 0.91, 0.91],
    },
];

/// Columns of the results; before that of the filter are those of its group.
const KEYS: usize = 0;
const N: usize = 1;
const FILTER: usize = 3;
const TIMES: [usize; 3] = [6, 7, 8];

type Rows = Vec<Vec<String>>;

/// A table in Markdown: for each filter of ours and each rival of its group the medians over the
/// processes of their times, and of the times' ratios. A ratio below its goal is in bold.
pub fn markdown(processes: &[Rows]) -> String {
    let mut text = String::from(
        "| keys | n | ours | rival | ours: ns | rival: ns | rival's time over ours | goal |\n\
         |---|---:|---|---|---:|---:|---:|---:|\n",
    );
    for (ours, rival) in pairs(&processes[0]) {
        let over_processes = |value: &dyn Fn(&Rows, usize) -> f64| {
            TIMES.map(|column| median(processes.iter().map(|rows| value(rows, column)).collect()))
        };
        let time = |rows: &Rows, row: usize, column: usize| parse(&rows[row][column]);
        let times = |row| {
            let medians = over_processes(&|rows, column| time(rows, row, column));
            medians.map(|time| format!("{time:.1}")).join(" ")
        };
        let ratios =
            over_processes(&|rows, column| time(rows, rival, column) / time(rows, ours, column));
        let (one, other) = (&processes[0][ours], &processes[0][rival]);
        let goal = goal(one, other);
        let shown: Vec<String> =
            ratios.iter().zip(goal).map(|(&ratio, least)| mark(ratio, least)).collect();
        let wanted = goal.map(|least| if least > 0.0 { least.to_string() } else { "–".into() });
        text += &format!(
            "| {} | {} | {} | {} | {} | {} | {} | {} |\n",
            one[KEYS],
            one[N],
            one[FILTER],
            other[FILTER],
            times(ours),
            times(rival),
            shown.join(" "),
            wanted.join(" "),
        );
    }
    text
}

/// The rows of each filter of ours and of each rival of its group.
fn pairs(rows: &Rows) -> Vec<(usize, usize)> {
    let is_ours = |row: usize| rows[row][FILTER].starts_with("crivo");
    let together = |one: usize, other: usize| rows[one][..FILTER] == rows[other][..FILTER];
    let (ours, rivals): (Vec<usize>, Vec<usize>) = (1..rows.len()).partition(|&row| is_ours(row));
    let rivals_of = |one| rivals.iter().filter(move |&&rival| together(one, rival));
    ours.iter().flat_map(|&one| rivals_of(one).map(move |&rival| (one, rival))).collect()
}

fn goal(ours: &[String], rival: &[String]) -> [f64; 3] {
    let is_meant = |goal: &&Goal| {
        ours[KEYS] == "u64"
            && [goal.n, goal.ours, goal.rival] == [&ours[N], &ours[FILTER], &rival[FILTER]]
    };
    GOALS.iter().find(is_meant).map_or([0.0; 3], |goal| goal.ratios)
}

/// A ratio below its goal stands out.
fn mark(ratio: f64, least: f64) -> String {
    if ratio < least { format!("**{ratio:.2}**") } else { format!("{ratio:.2}") }
}
