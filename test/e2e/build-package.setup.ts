import { installed } from './installed-package.ts'

/** Builds the package once, before the workers start processes from it. */
export default function setup(): void {
  installed()
}
