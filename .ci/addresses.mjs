// `node .ci/addresses.mjs`, which the release runs before it packs: writes the addresses of
// `addresses.json` into package.json, README.md and SECURITY.md, where npm shows them. Links to
// files become links to the repository at the tag of this version. Refuses while an address is
// missing.
import { readFileSync, writeFileSync } from 'node:fs';

const NAMES = ['repository', 'homepage', 'bugs', 'security'];
const REPORTING = '"Report a vulnerability" on the repository\'s Security page';

const addresses = readJson('.ci/addresses.json');
const faults = NAMES.flatMap((name) => faultOf(name, addresses[name]));
if (faults.length > 0) {
  console.error(`Nothing was changed. In .ci/addresses.json:\n${faults.join('\n')}`);
  process.exit(1);
}

const { repository, homepage, bugs, security } = addresses;
const manifest = readJson('package.json');
const places = {
  repository: { type: 'git', url: `git+${repository}.git` },
  homepage,
  bugs: { url: bugs },
};
writeFileSync('package.json', `${JSON.stringify({ ...manifest, ...places }, null, 2)}\n`);
const readme = readFileSync('README.md', 'utf8');
writeFileSync('README.md', withLinks(readme));
const policy = readFileSync('SECURITY.md', 'utf8');
if (!policy.includes(REPORTING)) throw new Error(`SECURITY.md does not say ${REPORTING}`);
writeFileSync('SECURITY.md', withLinks(policy.replace(REPORTING, `[this form](${security})`)));

function readJson(path) {
  return JSON.parse(readFileSync(path, 'utf8'));
}

function faultOf(name, address) {
  if (typeof address !== 'string' || !URL.canParse(address)) return [`${name}: set an address`];
  if (!address.startsWith('https://')) return [`${name}: begin with https://`];
  if (name !== 'repository') return [];
  if (!/^https:\/\/github\.com\/[\w.-]+\/[\w.-]+$/.test(address)) {
    return ['repository: write https://github.com/OWNER/NAME'];
  }
  // npm refuses the provenance of another repository.
  const { GITHUB_REPOSITORY: here } = process.env;
  const isHere = here === undefined || address === `https://github.com/${here}`;
  return isHere ? [] : [`repository: this workflow runs in https://github.com/${here}`];
}

/** Makes the links to files absolute, except in code. */
function withLinks(text) {
  const pieces = text.split(/(^```[\s\S]*?^```)/m);
  return pieces.map((piece) => (piece.startsWith('```') ? piece : linked(piece))).join('');
}

function linked(text) {
  const files = repository.replace('//github.com/', '//raw.githubusercontent.com/');
  return text.replaceAll(/(!?)\[([^\]]*)\]\((?!https?:|#)([^)\s]+)\)/g, (_, image, words, path) => {
    const base = image === '!' ? files : `${repository}/blob`;
    return `${image}[${words}](${base}/v${manifest.version}/${path})`;
  });
}
