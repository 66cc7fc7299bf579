//! Hostile peers: whatever messages come, in whatever order, the answer is an error or a step.
//!
//! The input is cut into messages: two bytes of length, then the bytes. The first byte of the input
//! chooses who is attacked. Version and key check are made right, which a fuzzer would never guess.

#![no_main]

use crivo::exchange::join::{Answerer, Asker};
use crivo::exchange::{Action, ExchangeKey, Greeting, IdSet, Session, Sieve, Strata};
use libfuzzer_sys::fuzz_target;

const ITEMS: [&[u8]; 5] = [b"ana", b"rui", b"eva", b"", b"ivo"];

fuzz_target!(|input: &[u8]| {
    let Some((&who, mut rest)) = input.split_first() else { return };
    let key = ExchangeKey::new([7; 16]);
    let set = IdSet::of_items(key, ITEMS);
    let mut messages = Vec::new();
    while let Some((length, behind)) = rest.split_first_chunk() {
        let length = usize::from(u16::from_le_bytes(*length)).min(behind.len());
        let (body, behind) = behind.split_at(length);
        messages.push([&[1], body].concat());
        rest = behind;
    }
    match who % 5 {
        0 => attack(Session::initiator(set.clone()), summary(set), &messages),
        1 => attack(Session::responder(set.clone()), summary(set), &messages),
        2 => {
            let (mut asker, mut answerer) = (Asker::new(1), Answerer::new(1));
            ITEMS.iter().for_each(|item| asker.insert(item));
            ITEMS.iter().for_each(|item| answerer.survey(item, 100));
            if let Action::Send(survey) = answerer.action() {
                let _ = asker.receive(&survey, |_| true);
            }
            for message in &messages {
                let _ = (asker.receive(message, |_| true), answerer.receive(message));
                while let Action::Send(_) = asker.action() {}
                while let Action::Send(_) = answerer.action() {}
            }
        }
        3 => {
            let mut sieve = Sieve::new(key, 0);
            for message in &messages {
                let _ = sieve.receive(message, &set);
            }
            let _ = sieve.common(&set).count();
        }
        _ => {
            for message in &messages {
                if let Ok(strata) = Strata::from_bytes(message, key) {
                    assert_eq!(strata.to_bytes(), *message);
                    let _ = strata.estimate(&set);
                }
                if let Some(greeting) = message.first_chunk() {
                    let _ = Greeting::from_bytes(greeting);
                }
            }
        }
    }
});

/// What an honest peer with the same key says first.
fn summary(set: IdSet) -> Vec<u8> {
    match Session::initiator(set).action() {
        Ok(Action::Send(summary)) => summary,
        other => panic!("a session begins with its summary, not with {other:?}"),
    }
}

fn attack(mut session: Session, summary: Vec<u8>, messages: &[Vec<u8>]) {
    let mut step = |message: &[u8]| {
        let taken = session.receive(message, |_| {});
        loop {
            match session.action() {
                Ok(Action::Send(_)) => {}
                Ok(Action::Provide) => {
                    ITEMS.iter().for_each(|item| session.provide(item));
                    if session.provided().is_err() {
                        return;
                    }
                }
                _ => break,
            }
        }
        let _ = taken;
    };
    step(&summary);
    messages.iter().for_each(|message| step(message));
}
