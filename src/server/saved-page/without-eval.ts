/** Import this first in a page whose policy forbids `eval`: zod would try it once, which the browser reports. */
import * as z from 'zod'

z.config({ jitless: true })
