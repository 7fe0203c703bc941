/**
 * Limits of one query, other than samples and time. Each limit keeps a piece of uninterruptible work far below the time
 * for which other callers may be delayed, and all are far above the needs of dashboards, alerts and autoscalers. They
 * are described in docs/reference/query-execution.md.
 */
export const queryLimits = {
  /** Characters (UTF-16 units) of a query. */
  textLength: 131_072,
  /** Levels of a query's tree: nested parentheses, calls and subqueries, and links of a chain of operators. */
  depth: 500,
  /** Selectors of a query. */
  selectors: 50,
  /** Matchers of a query, of all its selectors. */
  matchers: 2_000,
  /** Names of a query's lists of labels: those of `by`, `on` and the like, and arguments of functions after the fifth. */
  listedLabels: 2_000,
  /** Different regular expressions of a query, of matchers and of `label_replace`. */
  patterns: 50,
  /** Total compile cost of the regular expressions of a query. `maxPatternCost` limits each single one. */
  patternCost: 30_000,
  /** Steps at which one subquery, or a query, is evaluated. */
  steps: 250_000,
  /** Samples in all windows of one call: steps × steps of the subquery × series. */
  windowSamples: 10_000_000_000,
  /** Characters of a label value that a query creates, and references (`$`) in the replacement that it is made from. */
  labelLength: 4_096,
  /** Characters of all names and values of a series' labels, where a query adds to them. */
  labelsLength: 65_536,
} as const;
