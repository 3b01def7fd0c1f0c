/**
 * `keyscope/testing`. For tests only: the suites that every store and every adapter must pass, and
 * principals without a keyring. Needs no assertion library and no particular test runner: a failure
 * throws an `Error` that says which promise was broken.
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
