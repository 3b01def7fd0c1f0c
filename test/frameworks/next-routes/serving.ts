/** The handlers that a test has made for the contract's routes: a test has a keyring of its own. */
interface Serving {
  readonly whoami: (request: Request) => Promise<Response>;
  readonly reports: (request: Request) => Promise<Response>;
}

export function serving(): Serving {
  return (globalThis as unknown as { readonly serving: Serving }).serving;
}
