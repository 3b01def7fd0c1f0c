/** Short names for the contract's tests. */

export const LET_IN = 'lets in a key with the scope and passes on its principal and entity';
export const NO_STORE = 'sends Cache-Control: no-store with every answer to a key';
export const NONE = 'denies a missing credential with exactly the bytes of toResponse';
export const OTHER = 'denies other schemes and malformed credentials';
export const LONG = 'denies a credential of more than 16 KiB';
export const TWO = 'denies two Authorization lines, whatever they contain';
export const ELSEWHERE = 'ignores a key outside the Authorization header';
export const NAMED = 'ignores other headers that name a caller';
export const ALIKE = 'answers every refused key alike, whatever the reason';
export const SCOPE = 'denies a key without the scope and names the scope in the challenge';
export const ENTITY = 'passes the entity that it checked to the handler';
export const ANY_ID = 'passes ids of entities that are not UUIDs as they are';
export const BAD_ENTITY = 'denies an entity that is inaccessible, repeated or malformed';
export const BROKEN = 'answers 503 while the store is broken and does not blame the key';
export const BUG = 'lets nobody in after a bug and does not report it as a denial';
export const THROWS = 'runs a throwing handler once and does not report it as a denial';
export const ONCE = 'asks the keyring once per request, for the operation of the route';
export const APART = 'gives each of 20 concurrent handlers its own caller';
export const HEAD = 'denies HEAD like GET, without a body';
export const OPERATION = 'throws at set-up if the policy lacks the operation';
export const REALM = 'throws at set-up if no header can carry the realm';
export const KEYRING = 'throws at set-up without a keyring';

export const DENIALS = [
  ...[NONE, OTHER, LONG, TWO, ELSEWHERE, NAMED, ALIKE, SCOPE],
  ...[ANY_ID, BAD_ENTITY, BROKEN],
];
/** The denials that must have a challenge. */
export const CHALLENGED = DENIALS.filter((name) => name !== BROKEN);
