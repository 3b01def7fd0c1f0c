/** Lines to copy, with which jobs and pods act as a key that has no secret. */

/** The audience of their tokens: the audience of the service, `#` and the key id. */
export interface TokenAudience {
  readonly plain: string;
  /** Encoded for a URL. */
  readonly inUrl: string;
}

/** Quotes a text for YAML, whose strings in double quotes contain those of JSON. */
const quote = (text: string): string => JSON.stringify(text);

/** The line without which the tokens of a job do not name its environment. */
function environmentLine(indent: string, name: string | undefined): string {
  return name === undefined ? '' : `\n${indent}environment: ${quote(name)}`;
}

/** A job of GitHub Actions. The token is masked before anything can print it. */
export function githubWorkflow({ inUrl }: TokenAudience, environment: string | undefined): string {
  return `jobs:
  call:
    runs-on: ubuntu-latest${environmentLine('    ', environment)}
    permissions:
      id-token: write
    steps:
      - shell: bash
        run: |
          token=$(curl -fsS -H "Authorization: Bearer $ACTIONS_ID_TOKEN_REQUEST_TOKEN" \\
            "$ACTIONS_ID_TOKEN_REQUEST_URL&audience=${inUrl}" | jq -r .value)
          echo "::add-mask::$token"
          curl -fsS -H "Authorization: Bearer $token" "<URL of the service>"`;
}

/** A job of GitLab CI/CD. */
export function gitlabJob({ plain }: TokenAudience, environment: string | undefined): string {
  return `call:${environmentLine('  ', environment)}
  id_tokens:
    KEYSCOPE_TOKEN:
      aud: ${quote(plain)}
  script:
    - 'curl -fsS -H "Authorization: Bearer $KEYSCOPE_TOKEN" "<URL of the service>"'`;
}

/** The parts of a pod with a token in a file, which Kubernetes replaces before it ends. */
export function podSpec({ plain }: TokenAudience, account: string): string {
  return `spec:
  serviceAccountName: ${account}
  containers:
    - name: call
      volumeMounts:
        - { name: keyscope, mountPath: /var/run/secrets/keyscope, readOnly: true }
  volumes:
    - name: keyscope
      projected:
        sources:
          - serviceAccountToken:
              path: token
              audience: ${quote(plain)}
              expirationSeconds: 600`;
}
