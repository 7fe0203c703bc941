/**
 * The Events in which the leading operator reports a fault of the product's own objects, on its own Deployment.
 * `kubectl svc status` reads them, because only the status of a policy reports such a fault otherwise.
 */

/** Start of the note of each such Event. */
export const troublePrefix = 'platform: ';
/** The reason of the Event that ends a fault. */
export const troubleOver = 'Recovered';
/** How often the Event is repeated while the fault lasts. The API server keeps Events for an hour. Units: ms. */
export const troubleRepeatMs = 5 * 60_000;
