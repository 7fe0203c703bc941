/** A generated file: its path from the root of the repository, and its whole content. */
export interface GeneratedFile {
  path: string;
  content: string;
}
