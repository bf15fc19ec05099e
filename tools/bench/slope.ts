/** The slope of the straight line through the points on axes that are logarithmic both ways: 0 is constant, 1 linear. */
export function slopeOf(points: readonly (readonly [number, number])[]): number {
  const x = points.map(([size]) => Math.log(size))
  const y = points.map(([, ms]) => Math.log(ms))
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const [middleX, middleY] = [mean(x), mean(y)]
  return mean(x.map((at, i) => (at - middleX) * (y[i]! - middleY))) / mean(x.map(at => (at - middleX) ** 2))
}
