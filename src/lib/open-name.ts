/** A text. Editors complete the known names, and every other text is accepted too. */
export type OpenName<Known extends string> = Known | (string & Record<never, never>)
