/** Returns whether a key belongs to a field or to the browser. */
export function isTyping({ target, ctrlKey, metaKey, altKey }: KeyboardEvent): boolean {
  if (ctrlKey || metaKey || altKey) return true
  return target instanceof HTMLElement && target.matches('input, textarea, select, [contenteditable]')
}
