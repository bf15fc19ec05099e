/** Styles that a module brings with it. */
declare module '*.css'
