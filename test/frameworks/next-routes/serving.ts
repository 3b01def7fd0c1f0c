/** The handlers that a test has created for the contract's routes with its own keyring. */
interface Serving {
  readonly whoami: (request: Request) => Promise<Response>;
  readonly reports: (request: Request) => Promise<Response>;
}

export function serving(): Serving {
  return (globalThis as unknown as { readonly serving: Serving }).serving;
}
