/** Entry point for the command line, loaded on demand. */
export { DocumentError, parseDocumentText } from '../files/data-file.ts'
export { conform, titleOf } from './conform.ts'
export { readDocument } from './document.ts'
