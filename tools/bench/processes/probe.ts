/** Loaded before the command line of the package: tells what CPU the server has used, and changes nothing else. */
import { answering } from '../worker.ts'

answering({})
