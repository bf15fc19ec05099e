/** The parts of the saved page that is open, for a further saved page. */

import { ELEMENTS, type PageParts } from './parts.ts'

/** Returns the parts of this page. */
export function readOwnParts(): PageParts {
  const { loader, style, ...scripts } = JSON.parse(textOf(ELEMENTS.parts)) as PageParts
  return {
    ...scripts,
    loader: { ...loader, text: textOf(ELEMENTS.loader) },
    style: { ...style, text: textOf(ELEMENTS.style) },
  }
}

/** Returns the text of an element. Throws an error if the file was changed. */
export function textOf(id: string): string {
  const text = document.getElementById(id)?.textContent
  if (typeof text === 'string') return text
  throw new Error(`Failed to read this page: the part ${id} is missing. Save the page again.`)
}
