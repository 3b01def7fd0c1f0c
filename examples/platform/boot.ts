// Only until every test imports ./host/boot.ts itself.
export * from './host/arguments.ts';
export * from './host/boot.ts';
export * from './host/listen.ts';
export * from './host/run.ts';
export * from './host/whereabouts.ts';
