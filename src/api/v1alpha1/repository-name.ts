/**
 * The form of a repository's name. The API server, the operator, the installer and the pods of a minter all read it from
 * here: a name that only some of them take would end the pods that are given it.
 */

/** The characters of a name, for a CRD: its patterns have no look-ahead. */
export const repositoryCharacters = '^[A-Za-z0-9._-]{1,100}$';

/** What a name is besides its characters, in CEL. */
export const repositoryNameRule = {
  rule: "self != '.' && self != '..' && !self.lowerAscii().endsWith('.git')",
  message: 'a repository name is not . or .. and does not end in .git',
};

/** A plain name: no owner, no pattern, nothing that is special in a path; no final `.git`, in any case of letters. */
export const repositoryName = /^(?!\.{1,2}$)(?!.*\.git$)[A-Z0-9._-]{1,100}$/i;

export const isRepositoryName = (text: string): boolean => repositoryName.test(text);

/**
 * The form in which two names of one account or repository are equal: the platform ignores the case of ASCII letters.
 * Only for names that were validated.
 */
export function foldName(name: string): string {
  return name.toLowerCase();
}
