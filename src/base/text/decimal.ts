/**
 * The source of a pattern for a decimal number without a sign, such as `5`, `5.`, `.5` or `1e-3`. A run of digits
 * matches in one way only, so a refused text takes time that grows with its length, not with its square.
 */
export const decimalSource = String.raw`(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?`;
