use datafusion::arrow::array::{
    BinaryArray, Date64Array, Decimal64Array, FixedSizeBinaryArray, Float32Array, Int8Array,
    Int32Array, LargeStringArray, StringArray, TimestampMicrosecondArray, TimestampSecondArray,
    UInt8Array,
};
use datafusion::arrow::datatypes::Int8Type;

use super::*;

fn hashed(column: impl Array + 'static, encoding: &str) -> Vec<Option<Digest>> {
    rows(&[Arc::new(column)], encoding)
}

fn rows(columns: &[ArrayRef], encoding: &str) -> Vec<Option<Digest>> {
    let rows = digest_rows(&KeyHasher::default(), columns, &encoding.parse().unwrap()).unwrap();
    let key = |(row, digest): (usize, &Digest)| match &rows.keys {
        Some(keys) if keys.is_null(row) => None,
        _ => Some(*digest),
    };
    rows.digests.iter().enumerate().map(key).collect()
}

fn digest(key: &(impl crivo::Key + ?Sized)) -> Option<Digest> {
    Some(KeyHasher::default().digest(key))
}

#[test]
fn integers_are_one_key_in_every_width() {
    let five = digest(&5i64);
    assert_eq!(hashed(Int8Array::from(vec![5]), "i64"), [five]);
    assert_eq!(hashed(UInt8Array::from(vec![5]), "i64"), [five]);
    assert_eq!(hashed(Int32Array::from(vec![5, -1]), "i64"), [five, digest(&-1i64)]);
    assert_eq!(hashed(UInt64Array::from(vec![5, u64::MAX]), "i64"), [five, None]);
    assert_eq!(hashed(Int64Array::from(vec![5, -1]), "u64"), [five, None]);
}

#[test]
fn floats_are_one_key_in_every_width_and_zero_is_one() {
    let keys = [0.0, 0.5, f64::NAN].map(|it| digest(&float_key(it)));
    assert_eq!(hashed(Float32Array::from(vec![-0.0, 0.5, -f32::NAN]), "f64"), keys);
    assert_eq!(hashed(Float64Array::from(vec![0.0, 0.5, f64::NAN]), "f64"), keys);
}

#[test]
fn text_and_bytes_are_their_bytes_in_every_array() {
    let ana = digest("ana");
    let text = || vec![Some("ana"), None];
    assert_eq!(hashed(StringArray::from(text()), "utf8"), [ana, None]);
    assert_eq!(hashed(LargeStringArray::from(text()), "utf8"), [ana, None]);
    assert_eq!(hashed(StringViewArray::from(text()), "utf8"), [ana, None]);
    assert_eq!(hashed(StringViewArray::from(text()), "bytes"), [ana, None]);
    assert_eq!(hashed(BinaryArray::from(vec![b"ana".as_slice()]), "bytes"), [ana]);
    let fixed = FixedSizeBinaryArray::try_from_iter([b"ana"].into_iter()).unwrap();
    assert_eq!(hashed(fixed, "bytes"), [ana]);
}

#[test]
fn days_and_moments_convert_only_where_nothing_is_lost() {
    const DAY: i64 = 86_400_000;
    assert_eq!(hashed(Date64Array::from(vec![DAY, -1]), "date"), [digest(&1i32), digest(&-1i32)]);
    let micros = TimestampMicrosecondArray::from(vec![2_000_000, 2_000_001]);
    assert_eq!(hashed(micros.clone(), "timestamp(s)"), [digest(&2i64), None]);
    assert_eq!(hashed(micros.with_timezone("+01:00"), "timestamp(s)"), [digest(&2i64), None]);
    let seconds = TimestampSecondArray::from(vec![2, i64::MAX]);
    assert_eq!(hashed(seconds, "timestamp(ns)"), [digest(&2_000_000_000i64), None]);
}

#[test]
fn decimals_convert_only_where_nothing_is_lost() {
    let numbers = |scale| {
        let numbers = Decimal128Array::from(vec![1250, 1255]);
        numbers.with_precision_and_scale(38, scale).unwrap()
    };
    assert_eq!(hashed(numbers(2), "decimal(2)"), [digest(&1250i128), digest(&1255i128)]);
    assert_eq!(hashed(numbers(2), "decimal(1)"), [digest(&125i128), None]);
    assert_eq!(hashed(numbers(2), "decimal(3)"), [digest(&12500i128), digest(&12550i128)]);
    let short = Decimal64Array::from(vec![1250]).with_precision_and_scale(10, 2).unwrap();
    assert_eq!(hashed(short, "decimal(2)"), [digest(&1250i128)]);
}

#[test]
fn a_dictionary_has_the_keys_of_its_values() {
    let words: DictionaryArray<Int8Type> =
        [Some("ana"), None, Some("rui"), Some("ana")].into_iter().collect();
    let expected = [digest("ana"), None, digest("rui"), digest("ana")];
    assert_eq!(hashed(words.clone(), "utf8"), expected);
    let two: Vec<ArrayRef> = vec![Arc::new(words), Arc::new(Int8Array::from(vec![1, 2, 3, 4]))];
    let expected = [digest(&("ana", 1i64)), None, digest(&("rui", 3i64)), digest(&("ana", 4i64))];
    assert_eq!(rows(&two, "(utf8,i64)"), expected);
}

#[test]
fn a_null_value_of_a_dictionary_is_no_key() {
    let values = StringArray::from(vec![Some("ana"), None]);
    let words = DictionaryArray::<Int8Type>::new(vec![0, 1].into(), Arc::new(values));
    assert_eq!(hashed(words, "utf8"), [digest("ana"), None]);
}

#[test]
fn types_that_differ_are_an_error() {
    let column: ArrayRef = Arc::new(StringArray::from(vec!["5"]));
    let error = digest_rows(&KeyHasher::default(), &[column], &KeyEncoding::I64).unwrap_err();
    assert!(error.to_string().contains("keys of type i64"), "{error}");
}
