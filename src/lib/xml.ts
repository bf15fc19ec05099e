/** Returns a text as an attribute of XML, with its quotes. */
export function xmlAttribute(text: string): string {
  return `"${escapeXml(text).replace(/"/g, '&quot;').replace(/\n/g, '&#10;')}"`
}

/** Escapes text for XML, and removes characters that XML does not allow. */
export function escapeXml(text: string): string {
  return text
    .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '')
    .replace(/&/g, '&amp;')
    .replace(/</g, '&lt;')
    .replace(/>/g, '&gt;')
}
