/**
 * `keyscope/testing`, for tests only: the suites that every store and every adapter must pass, and
 * principals without a keyring. Works with any test runner and without an assertion library: a
 * failed test throws an `Error` that names the broken promise.
 */
export { adapterContract } from './adapter-contract/contract.js';
export type {
  AdapterSetup,
  FetchAnswer,
  ServeAdapter,
  ServedAdapter,
} from './adapter-contract/serve-adapter.js';
export type { RegisterTest } from './assertions.js';
export type { ContractStore } from './store-contract/contract.js';
export { storeContract } from './store-contract/contract.js';
export type { TestPrincipalOptions } from './test-principal.js';
export { testPrincipal } from './test-principal.js';
