/** Builds the package as the tests of processes use it, unless it is built, and prints the folder of its project. */
import { installed } from '../../test/e2e/installed-package.ts'

process.stdout.write(installed())
