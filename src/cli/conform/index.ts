/** Entry point for the command line, loaded on demand. */
export { conform, titleOf } from './conform.ts'
export { DocumentError } from './document.ts'
export { parseDocumentText, readDocument } from './file.ts'
