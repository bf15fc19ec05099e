/** A `ref` that scrolls an element into view when it appears, because the button that made it can be far from it. */
export function intoView(element: Element | null): void {
  element?.scrollIntoView({ block: 'nearest' })
}
