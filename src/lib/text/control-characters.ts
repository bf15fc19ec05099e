/**
 * Writes the control characters of a text as in `\u001b`, because in a terminal they would act. Lines and tabs stay.
 *
 * @example escapeControls('a\u001b[31m') // 'a\\u001b[31m'
 */
export function escapeControls(text: string): string {
  return text.replace(/(?![\n\t])\p{Cc}/gu, sign => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
