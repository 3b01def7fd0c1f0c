export type { TokenAlgorithm } from '../jwt/algorithms.js';
export type { JwkSet } from '../jwt/key-set.js';
export type { KeylessIssuer } from './issuer.js';
export type { KeylessVerifier, KeylessVerifierOptions } from './keyless-verifier.js';
export { createKeylessVerifier } from './keyless-verifier.js';
export type { GitLabOptions, KubernetesOptions } from './platforms.js';
export { githubActions, gitlab, google, kubernetes } from './platforms.js';
export type { GitHubJob, GitLabJob, KubernetesPod, Selector } from './trusts.js';
export { githubTrust, gitlabTrust, kubernetesTrust } from './trusts.js';
