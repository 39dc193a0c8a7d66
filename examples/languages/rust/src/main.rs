//! Calls a model from Rust: loads it, gives it a batch of rows, and compares the scores with numbers from a file.
//! Arguments: the model, a file of float32 inputs, and a file of the results that are expected.
mod sr;

fn read_floats(path: &str) -> Result<Vec<f32>, String> {
    let bytes = std::fs::read(path).map_err(|error| format!("{path}: {error}"))?;
    Ok(bytes
        .chunks_exact(4)
        .map(|part| f32::from_le_bytes(part.try_into().unwrap()))
        .collect())
}

fn main() -> Result<(), String> {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    let (model, input, expected) = match paths.as_slice() {
        [model, input, expected] => (model, input, expected),
        _ => return Err("Give three files.".into()),
    };
    let module = sr::Module::load(model)?;
    let (data, expected) = (read_floats(input)?, read_floats(expected)?);
    let columns = module.input_sizes(0)[1];
    let rows = data.len() as i64 / columns;

    // The second call is recorded, and later ones are replays. Threads share the module.
    let results: Vec<Result<Vec<f32>, String>> = std::thread::scope(|scope| {
        let calls: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| module.call(&data, &[rows, columns])))
            .collect();
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    });
    let mut largest = 0f32;
    for scores in results {
        for (score, right) in scores?.iter().zip(&expected) {
            largest = largest.max((score - right).abs());
        }
    }
    println!("{rows} rows, largest difference {largest:e}");
    if largest < 1e-5 {
        Ok(())
    } else {
        Err("The scores differ.".into())
    }
}
