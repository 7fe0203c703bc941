/**
 * Largest rule file that the pods of a minter read, and so the largest that the operator reads. Units: bytes. The inline
 * rules of the largest spec that the schema admits take some 200 KB.
 */
export const maxRuleFileBytes = 256 * 1024;
