/** Code that few processes need. It is loaded on first use. */
export class CodeOnDemand<Code> {
  readonly #name: string
  readonly #importCode: () => Promise<Code>
  #code: Code | undefined

  /** @param name the prerequisite that loads it: an endpoint declares it in `needs` */
  constructor(name: string, importCode: () => Promise<Code>) {
    this.#name = name
    this.#importCode = importCode
  }

  isLoaded(): boolean {
    return this.#code !== undefined
  }

  /** Loads the code on the first call. Later calls return at once. */
  async load(): Promise<Code> {
    this.#code ??= await this.#importCode()
    return this.#code
  }

  /** Returns the code. Throws Error if `load` was not awaited. */
  get(): Code {
    if (this.#code === undefined) {
      throw new Error(`Failed to use ${this.#name}: the code is not loaded. Declare needs: ${this.#name}.`)
    }
    return this.#code
  }
}
