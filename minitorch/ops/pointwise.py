"""The op table, functions of one number: exponentials, logarithms, trigonometry, rounding, signs."""

from ..op import op, ufunc

POSITIVE, UNIT = (0.25, 4.0), (-0.75, 0.75)

# ---- exponentials and logarithms ---------------------------------------------------------------------------
exp = ufunc("exp", "The exponential, e to the power `input`.", promotion="float",
            input=lambda F, g, out: g * out)
log = ufunc("log", "The natural logarithm.", promotion="float", domain={"input": POSITIVE},
            input=lambda F, g, input: g / input)
sqrt = ufunc("sqrt", "The square root.", promotion="float", domain={"input": POSITIVE},
             input=lambda F, g, out: g / (2 * out))

# ---- trigonometry ------------------------------------------------------------------------------------------
sin = ufunc("sin", "The sine of `input` (radians).", promotion="float",
            input=lambda F, g, input: g * F.cos(input))
cos = ufunc("cos", "The cosine of `input` (radians).", promotion="float",
            input=lambda F, g, input: -g * F.sin(input))
tanh = ufunc("tanh", "The hyperbolic tangent.", promotion="float",
             input=lambda F, g, out: g * (1 - out * out))


@op(promotion="float", inplace=True, input=lambda F, g, out: g * (out * (1 - out)))
def sigmoid(F, input):
    """``1 / (1 + exp(-input))``, without overflow."""
    y = F.xp.tanh(input * 0.5)
    y *= 0.5
    y += 0.5
    return y


# ---- rounding and signs ------------------------------------------------------------------------------------
abs = ufunc("abs", "The absolute value; its gradient at 0 is 0.", "absolute", aliases=("absolute",),
            kinks="zero", input=lambda F, g, input: g * F.sign(input))
sign = ufunc("sign", "-1, 0 or 1 by the sign of `input`.", kinks="steps", input=lambda F, g: g * 0.0)
