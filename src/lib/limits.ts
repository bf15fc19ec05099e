/** The bounds on inputs, for the code that applies them. */
import { type LimitDeclaration, SECTIONS } from './declarations.ts'

type Sections = typeof SECTIONS
type LimitName = { [Section in keyof Sections]: keyof Sections[Section] }[keyof Sections]

/** The limits by section, for the page of docs. */
export const LIMIT_SECTIONS: Readonly<Record<string, Readonly<Record<string, LimitDeclaration>>>> = SECTIONS

/** The bounds by name, each in its unit. */
export const LIMITS = Object.fromEntries(
  Object.values(LIMIT_SECTIONS).flatMap(limits => Object.entries(limits).map(([name, { max }]) => [name, max])),
) as Readonly<Record<LimitName, number>>
