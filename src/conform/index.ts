/** What the command line loads when somebody asks for it. */
export { conform, titleOf } from './conform.ts'
export { DocumentError } from './document.ts'
export { parseDocumentText, readDocument } from './file.ts'
