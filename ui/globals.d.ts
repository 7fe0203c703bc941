/** What modules of the language use of Node in code that the page never calls. */
declare const Buffer: { byteLength(text: string): number };
