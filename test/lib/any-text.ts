import fc from 'fast-check'

/** Texts of any code points. `fc.string({ unit: 'binary' })` lists all of them first, which takes a second. */
export const anyText = fc.array(fc.nat({ max: 0x10ffff })).map(points => String.fromCodePoint(...points))
