// The changelog has the sentences of the changesets as they are, without commits and bullets.
export const getReleaseLine = ({ summary }) => `\n\n${summary}`;
export const getDependencyReleaseLine = () => '';
