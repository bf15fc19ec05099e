/** Returns a count with its thing: `1 run`, `20,000 runs`. */
export function plural(count: number, thing: string): string {
  return `${count.toLocaleString('en-US')} ${thing}${count === 1 ? '' : 's'}`
}
