/**
 * Functions that give the same bits on every engine. Math.exp and Math.log may differ in their last bit: these functions
 * use only + − × ÷, which IEEE 754 defines exactly.
 */

const LN2_HIGH = 0.6931471803691238
const LN2_LOW = 1.9082149292705877e-10

/** Returns e to the power of x, for |x| up to 700. */
export function exp(x: number): number {
  const k = Math.round(x / Math.LN2)
  const r = x - k * LN2_HIGH - k * LN2_LOW
  let sum = 1
  for (let n = 14; n > 0; n--) sum = 1 + (r * sum) / n
  let scale = 1
  const factor = k < 0 ? 0.5 : 2
  for (let i = Math.abs(k); i > 0; i--) scale *= factor
  return sum * scale
}

/** Returns the natural logarithm of x > 0. */
export function ln(x: number): number {
  let mantissa = x
  let exponent = 0
  while (mantissa > Math.SQRT2) {
    mantissa *= 0.5
    exponent++
  }
  while (mantissa < Math.SQRT1_2) {
    mantissa *= 2
    exponent--
  }
  const s = (mantissa - 1) / (mantissa + 1)
  const square = s * s
  let sum = 0
  for (let n = 25; n > 0; n -= 2) sum = sum * square + 1 / n
  return 2 * s * sum + exponent * LN2_LOW + exponent * LN2_HIGH
}

/**
 * Returns the inverse of the standard normal distribution (Acklam's rational approximation, relative error below
 * 1.15e-9).
 */
export function normalQuantile(unit: number): number {
  const p = Math.min(Math.max(unit, 1e-15), 1 - 1e-15)
  if (p < 0.02425) return tail(p)
  if (p > 1 - 0.02425) return -tail(1 - p)
  const q = p - 0.5
  const r = q * q
  const above =
    ((((-3.969683028665376e1 * r + 2.209460984245205e2) * r - 2.759285104469687e2) * r + 1.38357751867269e2) * r -
      3.066479806614716e1) *
      r +
    2.506628277459239
  const below =
    ((((-5.447609879822406e1 * r + 1.615858368580409e2) * r - 1.556989798598866e2) * r + 6.680131188771972e1) * r -
      1.328068155288572e1) *
      r +
    1
  return (q * above) / below
}

function tail(p: number): number {
  const q = Math.sqrt(-2 * ln(p))
  const above =
    ((((-7.784894002430293e-3 * q - 3.223964580411365e-1) * q - 2.400758277161838) * q - 2.549732539343734) * q +
      4.374664141464968) *
      q +
    2.938163982698783
  const below =
    (((7.784695709041462e-3 * q + 3.224671290700398e-1) * q + 2.445134137142996) * q + 3.754408661907416) * q + 1
  return above / below
}
