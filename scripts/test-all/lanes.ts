/** A step of a lane, which is a list of steps. */
export interface LaneStep {
  readonly name: string;
  /** The name of a step of another lane that has to end before this one begins. */
  readonly after?: string;
}

/**
 * Runs lanes in parallel, and the steps of a lane one after another.
 * Assumptions: names differ, and no two lanes wait for each other.
 * Errors: an error of `run`, after all running steps have ended.
 */
export async function runLanes<S extends LaneStep>(
  lanes: readonly (readonly S[])[],
  run: (step: S) => Promise<void>,
): Promise<void> {
  const ends = new Map(lanes.flat().map(({ name }) => [name, Promise.withResolvers<void>()]));
  const ended = await Promise.allSettled(
    lanes.map(async (steps) => {
      try {
        for (const step of steps) {
          if (step.after !== undefined) await ends.get(step.after)?.promise;
          await run(step);
          ends.get(step.name)!.resolve();
        }
      } finally {
        // Lanes that wait for a step of this failed lane continue.
        for (const { name } of steps) ends.get(name)!.resolve();
      }
    }),
  );
  const failure = ended.find((end) => end.status === 'rejected');
  if (failure) throw failure.reason;
}
