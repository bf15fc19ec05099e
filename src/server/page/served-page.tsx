/** The control room of a server, at `/_sim/ui`. */
import { openPage } from './main.tsx'
import { HttpConnection } from './store/ask.ts'

openPage(document.getElementById('app')!, new HttpConnection())
