/** `keyscope/testing`. */

export type {
  AdapterSetup,
  FetchAnswer,
  ServeAdapter,
  ServedAdapter,
  TestPrincipalOptions,
} from './adapter-contract.js';
export { adapterContract, testPrincipal } from './adapter-contract.js';
export type { ContractStore, RegisterTest } from './store-contract.js';
export { storeContract } from './store-contract.js';
