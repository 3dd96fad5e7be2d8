/**
 * Private fields for objects of others.
 *
 * @module
 */

/**
 * Its constructor returns the object that it is given, so that a subclass can put its private fields onto a foreign
 * object.
 */
export class Foreign {
  constructor(foreign: object) {
    // biome-ignore lint/correctness/noConstructorReturn: that is the purpose
    return foreign
  }
}
