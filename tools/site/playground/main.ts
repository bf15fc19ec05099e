/** The script of the playground's page. */

import { openPlayground } from './playground.tsx'

openPlayground(document.getElementById('editor')!, document.getElementById('app')!)
